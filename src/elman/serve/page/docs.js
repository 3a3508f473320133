// The OpenAPI description, to be read by people.

import { element } from "/page/format.js";
import "/page/theme.js";

const description = await (await fetch("/openapi.json")).json();
const place = document.getElementById("docs");
const groups = new Map();
for (const [path, verbs] of Object.entries(description.paths)) {
  for (const [verb, operation] of Object.entries(verbs)) {
    const group = operation.tags?.[0] ?? "other";
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push({ path, verb, operation });
  }
}

document.getElementById("totals").textContent = `version ${description.info.version}`;
place.append(element("h1", {}, "API"), ...prose(description.info.description));
for (const [group, operations] of groups) {
  place.append(element("h2", {}, group), ...operations.map(shown));
}

function shown({ path, verb, operation }) {
  const [first, ...rest] = (operation.description ?? operation.summary ?? "").split("\n\n");
  return element("details", {},
    element("summary", {}, element("b", { class: "verb", "data-verb": verb }, verb.toUpperCase()), element("code", {}, path), element("span", {}, ...marked(first))),
    element("div", { class: "inside" }, ...prose(rest.join("\n\n")), ...table(parameters(operation)), ...body(operation),
      element("p", {}, "Example"), element("pre", {}, example(path, verb, operation)), ...table(answers(operation))));
}

function prose(text) {
  return text.split("\n\n").filter(Boolean).map((part) => {
    return element("p", {}, ...marked(part));
  });
}

function marked(text) {
  return text.replaceAll("\n", " ").split("`").map((piece, i) => (i % 2 ? element("code", {}, piece) : piece));
}

function table(lines) {
  if (!lines.length) return [];
  return [element("table", {}, element("tbody", {}, ...lines.map(([name, text]) => element("tr", {}, element("td", {}, element("code", {}, name)), element("td", {}, text)))))];
}

function parameters(operation) {
  return (operation.parameters ?? []).map(({ name, in: where, description: text }) => [name, [where, text].filter(Boolean).join(": ")]);
}

function answers(operation) {
  return Object.entries(operation.responses ?? {}).map(([status, { description: text }]) => [status, text ?? ""]);
}

function body(operation) {
  const types = Object.keys(operation.requestBody?.content ?? {});
  return types.length ? [element("p", {}, `Body: ${types.join(", ")}`)] : [];
}

function example(path, verb, operation) {
  const address = location.origin + path.replace("{name}", "pump").replace("{file}", "style.css");
  const content = operation.requestBody?.content ?? {};
  if ("application/octet-stream" in content) return `curl -X PUT --data-binary @pump.elman ${address}`;
  const sample = content["application/json"]?.example;
  const data = sample ? ` \\\n  -H 'content-type: application/json' -d '${JSON.stringify(sample)}'` : "";
  return `curl${verb === "get" || (verb === "post" && data) ? "" : ` -X ${verb.toUpperCase()}`} ${address}${data}`;
}
