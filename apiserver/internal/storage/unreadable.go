package storage

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/store"
)

// RemoveUnreadable deletes an object whose stored value cannot be decrypted or decoded (KEP-3926). It
// returns a Conflict for one that can be read. A dry run checks that only.
func (o *Objects) RemoveUnreadable(ctx context.Context, key, name string, dryRun bool) error {
	for {
		kv, err := o.store.Get(ctx, key, 0)
		if err != nil {
			return o.translate(err, name)
		}
		if o.readable(*kv) {
			return apierrors.NewConflict(o.row.GroupResource(), name, fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s",
				key, "unsafe deletion is not allowed because the object is decodable from storage"))
		}
		if dryRun {
			return nil
		}
		_, err = o.Remove(ctx, key, kv.ModRevision)
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return o.translate(err, name)
		}
	}
}

// readable reports whether a stored value can be decrypted and decoded.
func (o *Objects) readable(kv store.KeyValue) bool {
	_, err := o.decode(kv)
	return err == nil
}
