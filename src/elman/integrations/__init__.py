"""elman's learners as estimators of other libraries: `river` and `sklearn`, each installed by its extra."""
