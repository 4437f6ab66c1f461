// Package live serves kinds whose objects show, and change, the state of this process: its clock, for
// example. Their requests pass the same handler chain as all others, with schemas, field managers and watches.
// But the objects are in memory, so that they outlast a fault of the store, have resource versions of their own, are
// in no write record, and their requests are no work for which virtual time stands still. A read shows the state as it
// is then, and a watch each change of it, at most a second of the machine's time late.
//
//	client          Store                          Objects
//	PATCH spec ---> Put: the spec differs -------> Apply
//	                writes the object
//	                Refresh <--------------------- Changed
//	GET, WATCH ---> Refresh: writes what differs <- Now
package live
