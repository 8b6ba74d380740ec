"""Live calls made by other processes. The leader announces, writes and pays; an actor only calls."""
