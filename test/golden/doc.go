// Package golden holds printed output to files that are kept beside the tests. A
// difference fails the test that asks; with the flag -update, which this package gives to
// the tests that import it, the file is written anew instead.
package golden
