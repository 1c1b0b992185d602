"""Figures on the sandbox: how long things take, what clients notice, what the operator costs."""
