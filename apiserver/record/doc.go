// Package record keeps who wrote what, and why: one Write for every revision that
// this apiserver made, in a bounded ring. Timelines, audit and the question why an
// object changed are answered from it.
package record
