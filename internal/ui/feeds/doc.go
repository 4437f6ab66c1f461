// Package feeds shares the watches of a resource among the pages that are open. A feed is one watch
// of the API server; its events reach the subscribers in messages, at most one each interval. A
// message has the latest event of each object that changed since the subscriber's resourceVersion,
// in the order of resourceVersions: states that were replaced within the interval are left out. A
// subscriber that is slow gets fewer and larger messages, and subscribers with the same
// resourceVersion get the same bytes, which are encoded once.
//
//	100  MODIFIED pod a         subscriber 1, at 99, gets  a at 102, b at 101
//	101  ADDED    pod b         subscriber 2, at 101, gets a at 102
//	102  MODIFIED pod a         a later subscriber at 99 gets the message of subscriber 1
package feeds
