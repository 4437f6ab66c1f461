// Package partitiontype finds the attribute that says which partitions of a larger device are alike (KEP-5677), for the API
// server that validates ResourceSlices and for the controller that counts the partitions. It is pure.
//
//minikcm:pure
package partitiontype
