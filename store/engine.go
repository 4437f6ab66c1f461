package store

import (
	"context"

	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// engine is the etcd of an Embedded. It applies writes to etcd's storage, from which the Embedded
// reads the applied state. It is a whole server (replicated), which logs each write before it
// applies it, or, for ephemeral stores, etcd's storage alone (direct).
type engine interface {
	kv() mvcc.WatchableKV
	backend() backend.Backend
	// write makes a change, and returns its revision when it is applied.
	write(ctx context.Context, c *change) (int64, error)
	// compact compacts the history before revision. physical waits until it is deleted.
	compact(ctx context.Context, revision int64, physical bool) error
	// defragment rewrites the database file without its free pages.
	defragment() error
	// disarm lets writes happen again that were refused because the database was too large.
	disarm(ctx context.Context) error
	// settle returns when the writes that are being applied can be read.
	settle(ctx context.Context) error
	close()
}

// change is a Put or a Delete.
type change struct {
	kind     EventType
	key      string
	value    []byte
	expected int64
	guards   []Guard
}

// size is about the bytes that the change takes in the database.
func (c *change) size() int { return len(c.key) + len(c.value) }
