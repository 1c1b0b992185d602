"""The operator as a program: settings, wiring, metrics, health, logging."""
