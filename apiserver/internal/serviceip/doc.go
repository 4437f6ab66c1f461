// Package serviceip allocates the cluster IPs and node ports of Services, as upstream's
// apiserver since 1.33 (KEP-1880, KEP-3070, KEP-3668).
//
// Before a Service is stored, each of its cluster IPs is locked by an IPAddress object
// with that name, and each node port by a bit in the object
// /registry/ranges/servicenodeports. Only one of several processes can succeed in
// writing a lock, so no two Services of a cluster ever have the same address or port,
// whichever apiserver stores them. The locks that a Service no longer needs are
// released after the store has confirmed the write. If the outcome of a write is
// unknown, its locks remain until Repair finds that no Service has them.
//
//	T1 apiserver A creates the IPAddress 10.96.0.7 for Service a
//	T2 apiserver B tries to create 10.96.0.7 for Service b: AlreadyExists; B picks 10.96.0.8
//	T3 A stores a, B stores b
//	T4 A crashes between T1 and T3 instead: 10.96.0.7 stays locked until Repair deletes the lock
package serviceip
