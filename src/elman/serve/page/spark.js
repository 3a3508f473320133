// A line without axes, small enough to stand in a list.

import { colour } from "/page/theme.js";

export function spark(canvas, values, { width, height }) {
  const scale = devicePixelRatio || 1;
  if (!width || !height) return;
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return;
  const low = Math.min(...known), high = Math.max(...known), range = high - low || 1;
  const x = (i) => 2 + ((width - 6) * i) / (values.length - 1);
  const y = (value) => height - 4 - ((height - 8) * (value - low)) / range;
  context.beginPath();
  let drawing = false, last = null;
  values.forEach((value, i) => {
    if (value === null) {
      drawing = false;
      return;
    }
    if (drawing) context.lineTo(x(i), y(value));
    else context.moveTo(x(i), y(value));
    drawing = true;
    last = [x(i), y(value)];
  });
  context.lineWidth = 1.4;
  context.lineJoin = "round";
  context.strokeStyle = colour("accent");
  context.stroke();
  context.beginPath();
  context.arc(...last, 2.4, 0, 7);
  context.fillStyle = colour("change");
  context.fill();
}
