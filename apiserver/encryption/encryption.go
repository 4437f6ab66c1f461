package encryption

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"minikcm.dev/minikcm/store"
)

// Keys are the providers of an EncryptionConfiguration, by resource. Nil Keys encrypt
// nothing.
type Keys struct {
	transformers encryptionconfig.StaticTransformers
	cancel       context.CancelFunc
}

// pluginTimeout limits, in real time, how long Open waits for KMS plugins.
const pluginTimeout = 10 * time.Second

// Open reads an EncryptionConfiguration and checks that its KMS plugins answer. An empty
// path means no encryption. The caller must close the Keys; the connections to KMS plugins
// end soon after.
func Open(ctx context.Context, path, serverID string) (*Keys, error) {
	if path == "" {
		return nil, nil
	}
	life, cancel := context.WithCancel(context.Background())
	config, err := encryptionconfig.LoadEncryptionConfig(life, path, false, serverID)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("--encryption-provider-config %s: %w", path, err)
	}
	asking, done := context.WithTimeout(ctx, pluginTimeout)
	defer done()
	for _, check := range config.HealthChecks {
		// A plugin's first answer has the key that writes need.
		request, err := http.NewRequestWithContext(asking, http.MethodGet, "/readyz", nil)
		if err == nil {
			err = check.Check(request)
		}
		if err != nil {
			cancel()
			return nil, fmt.Errorf("--encryption-provider-config %s: %s: %w", path, check.Name(), err)
		}
	}
	return &Keys{transformers: config.Transformers, cancel: cancel}, nil
}

// Close ends the connections to KMS plugins.
func (k *Keys) Close() {
	if k != nil {
		k.cancel()
	}
}

// For returns what encrypts the values of a resource; nil for nil Keys.
func (k *Keys) For(resource schema.GroupResource) value.Transformer {
	if k == nil {
		return nil
	}
	return k.transformers.TransformerForResource(resource)
}

// Store returns a store whose Get and Put read and write plain values of the resource. It is
// for values that are not objects of a kind; nil Keys return s.
func (k *Keys) Store(s store.Store, resource schema.GroupResource) store.Store {
	if k == nil {
		return s
	}
	return &plainStore{s, k.For(resource)}
}

type plainStore struct {
	store.Store
	transformer value.Transformer
}

// Get implements store.Store.
func (s *plainStore) Get(ctx context.Context, key string, revision int64) (*store.KeyValue, error) {
	kv, err := s.Store.Get(ctx, key, revision)
	if err != nil {
		return kv, err
	}
	plain := *kv
	if plain.Value, _, err = s.transformer.TransformFromStorage(ctx, kv.Value, value.DefaultContext(key)); err != nil {
		return nil, fmt.Errorf("unable to transform key %q: %w", key, err)
	}
	return &plain, nil
}

// Put implements store.Store.
func (s *plainStore) Put(ctx context.Context, key string, plain []byte, expected int64) (int64, error) {
	sealed, err := s.transformer.TransformToStorage(ctx, plain, value.DefaultContext(key))
	if err != nil {
		return 0, fmt.Errorf("encrypting %s: %w", key, err)
	}
	return s.Store.Put(ctx, key, sealed, expected)
}
