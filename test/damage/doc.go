// Package damage has the tests of stores on damaged files: flipped bits, lost ends, missing files, and
// directories as a crash leaves them. A store refuses such files and changes nothing in them, or works;
// store.Check finds the damage, and store.Repair saves what is left.
//
// They are not in package store because that one is tested under the race detector, where reading and
// hashing files takes five times as long.
package damage
