// Package upkeep does the API server's work that time brings about: it compacts the store, and deletes
// objects that have expired (Events, after an hour).
package upkeep
