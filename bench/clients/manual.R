# The manual's own example for a package of R: the block that loads it.
manual <- function(package) {
  here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
  text <- readLines(file.path(here, "..", "..", "docs", "emulator.md"))
  from <- which(text == "```r")
  to <- vapply(from, function(start) start + which(text[-seq_len(start)] == "```")[1], 0)
  blocks <- Map(function(start, end) text[seq(start + 1, end - 1)], from, to)
  mine <- Filter(function(block) any(block == sprintf("library(%s)", package)), blocks)
  if (length(mine) != 1) stop("the manual has ", length(mine), " examples")
  eval(parse(text = mine[[1]]), envir = new.env())
  "as the manual has it"
}
