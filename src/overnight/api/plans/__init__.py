"""What a study would send and cost: counted, estimated and told, with nothing sent."""
