// Command verify checks the rules that the compiler and staticcheck do not check: which packages may import
// which others, that only the clock folder uses the machine's time and random numbers, the length of files and
// functions, that each package has a doc.go, that links in the documents have a target, that comments and
// documents name what happens instead of persons, that the subjects of new commits name their area, and that
// generated files are up to date. It prints one line for each problem and fails if there is any.
//
// A line that must break a rule ends with the comment "//verify:allow reason".
package main
