// Package golden compares printed output with files beside the tests. A difference fails the
// test. With the flag -update, which this package defines for the tests that import it, the
// file is rewritten instead.
package golden
