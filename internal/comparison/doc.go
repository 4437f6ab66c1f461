// Package comparison compares the objects of two clusters that were one: which objects only one of
// them has, and which fields of the others differ. It gets each change of an object, and compares
// that object only. What two clusters never have in common, such as UIDs, addresses and times, is no
// difference.
package comparison
