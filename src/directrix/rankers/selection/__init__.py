"""The search behind `directrix train`: trials, the folds that judge them, the choice, and the remarks."""
