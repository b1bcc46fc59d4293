"""What measures are made of: user models, policies, targets, divergences."""
