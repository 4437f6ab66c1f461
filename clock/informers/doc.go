// Package informers provides client-go's shared informer factory with informers that count
// their unfinished work in the ledger. A change of an object is in flight from the moment at
// which its first byte is passed to this process's client until the informer's lister shows it
// and all handlers have returned. An informer that has not synced, or whose watch is not
// established, counts as one piece of work: it is about to deliver the changes that it missed.
//
// The informers themselves (reflector, queue, indexer, shared processor) are client-go's. This
// package wraps them with a transport that counts the frames of watches (Wrap), because only
// there an event can be counted before its sender stops counting it, and with an informer that
// knows, by the object's identity, how many handlers have not seen it yet.
//
// A change of the Deployment web, on its way from the API server in the same process to a controller:
//
//	the server's watch         the client of the reflector    a handler               the ledger counts
//	takes it from the watcher                                                         the watcher's event
//	writes it to the pipe                                                             the event, the pipe
//	asks for the next event                                                           the pipe
//	                           Read: a frame begins                                   the pipe, the frame
//	                           decodes it, reads again                                the frame
//	                           stores the object                                      the object
//	                                                          adds the key web        the object, the key
//	                                                          returns                 the key
//
// Each step begins to count before the step before it ends, so the count is not 0 until the reconcile of web is over.
package informers
