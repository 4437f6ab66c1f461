// Package examples has copies of the programs in the module examples, so that they run where there is no
// Go: in the tours of "minikcm demo", and as "minikcm example". A test compares the copies with
// the programs.
package examples

//go:generate go test -run ^TestCopies$ . -update
