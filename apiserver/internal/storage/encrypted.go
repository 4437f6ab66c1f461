package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage/value"

	"minikcm.dev/minikcm/store"
)

// encryptedPrefix is the prefix of values that an apiserver has encrypted.
const encryptedPrefix = "k8s:enc:"

// errNoKeys is the error for an encrypted value without a configuration of keys.
var errNoKeys = errors.New("identity transformer tried to read encrypted data")

// sealedError reports a stored value that no key opens.
type sealedError struct {
	key string
	err error
}

func (e *sealedError) Error() string {
	return fmt.Sprintf("unable to transform key %q: %v", e.key, e.err)
}
func (e *sealedError) Unwrap() error { return e.err }

// open decrypts a value of the store. stale reports that it would be encrypted in another
// way now.
func (o *Objects) open(kv store.KeyValue) (opened store.KeyValue, stale bool, err error) {
	if o.transformer == nil {
		return kv, false, nil
	}
	// The watch cache has no request's context; transformers bound their own calls.
	plain, stale, err := o.transformer.TransformFromStorage(context.Background(), kv.Value, value.DefaultContext(kv.Key))
	if err != nil {
		return kv, false, &sealedError{kv.Key, err}
	}
	kv.Value = plain
	return kv, stale, nil
}

// seal encrypts a value for the store. The key is authenticated with it, as upstream.
func (o *Objects) seal(ctx context.Context, key string, plain []byte) ([]byte, error) {
	if o.transformer == nil {
		return plain, nil
	}
	sealed, err := o.transformer.TransformToStorage(ctx, plain, value.DefaultContext(key))
	if err != nil {
		return nil, &NotStoredError{Err: apierrors.NewInternalError(err)}
	}
	return sealed, nil
}

// unreadable returns the error for a value that does not decode: that it is encrypted, if it
// is.
func (o *Objects) unreadable(kv store.KeyValue, err error) error {
	if o.transformer == nil && bytes.HasPrefix(kv.Value, []byte(encryptedPrefix)) {
		return &sealedError{kv.Key, errNoKeys}
	}
	return fmt.Errorf("decoding %s at revision %d: %w", kv.Key, kv.ModRevision, err)
}

// errorOfOne returns the error of reading one object, which the client knows: upstream names
// the key only in the errors of lists.
func errorOfOne(err error) error {
	var sealed *sealedError
	if errors.As(err, &sealed) {
		err = sealed.err
	}
	return codingErrorOf(err)
}
