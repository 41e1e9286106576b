"""What a delivery is examined for, before it is published and again before it is accepted.

All of it is pure. What is allowed is read from the repository's own row and from the base of the
delivery, never from the delivery.
"""
