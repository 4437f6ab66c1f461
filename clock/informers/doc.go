// Package informers makes client-go's shared informer factory, whose informers
// tell the ledger what they have not yet finished. An object change counts as in
// flight from the moment its first byte is handed to this process's client until
// every handler of the informer has returned from it and the informer's lister
// shows it. An informer that is not synced, or whose watch is not established,
// counts as one piece in flight: it is about to deliver what it missed.
//
// The informers themselves (reflector, queue, indexer, shared processor) are
// client-go's own. Two things are put around them: a transport that counts a watch's
// frames, because only there an event can be counted before whoever delivered it
// stops counting it (Wrap), and an informer that knows by an object's identity how
// many handlers have not seen it yet.
package informers
