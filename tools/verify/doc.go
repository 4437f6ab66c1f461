// Command verify checks what the compiler and staticcheck do not: who may import
// whom, that only the clock folder asks the machine for time or chance, how long a
// file and a function may be, that each package is introduced by its doc.go, that
// links in the documents lead somewhere, that new commits say their area, and that
// generated files are what their generators make. It prints one line for each problem and fails if there is any.
//
// A line that must break a rule ends with a comment "//verify:allow reason".
package main
