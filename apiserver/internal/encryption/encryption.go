package encryption

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"minikcm.dev/minikcm/apiserver/internal/configfile"
	"minikcm.dev/minikcm/apiserver/internal/gate"
	"minikcm.dev/minikcm/apiserver/internal/reload"
	"minikcm.dev/minikcm/store"
)

// Keys are the providers of an EncryptionConfiguration, by resource. Nil Keys encrypt
// nothing.
type Keys struct {
	path, serverID string
	content        []byte
	now            atomic.Pointer[providers]
}

// providers holds the providers that one content of the file configures.
type providers struct {
	transformers encryptionconfig.StaticTransformers
	// inside counts the values that are being transformed.
	inside gate.Gate
	// cancel ends the connections to KMS plugins.
	cancel context.CancelFunc
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
	content, err := configfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("--encryption-provider-config %s: %w", path, err)
	}
	k := &Keys{path: path, serverID: serverID, content: content}
	first, err := k.load(ctx)
	if err != nil {
		return nil, err
	}
	k.now.Store(first)
	return k, nil
}

// load reads the file and checks that its KMS plugins answer.
func (k *Keys) load(ctx context.Context) (*providers, error) {
	life, cancel := context.WithCancel(context.Background())
	config, err := encryptionconfig.LoadEncryptionConfig(life, k.path, false, k.serverID)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("--encryption-provider-config %s: %w", k.path, err)
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
			return nil, reload.Temporary(fmt.Errorf("--encryption-provider-config %s: %s: %w", k.path, check.Name(), err))
		}
	}
	return &providers{transformers: config.Transformers, cancel: cancel}, nil
}

// Path returns the path of the EncryptionConfiguration, and Content the content that Open read.
func (k *Keys) Path() string    { return k.path }
func (k *Keys) Content() []byte { return k.content }

// Reload reads the file again. Values are encrypted with the new providers from then on, and
// values that only the former ones can decrypt cannot be read any more. After an error, the
// former providers stay. It must not be called concurrently.
func (k *Keys) Reload(ctx context.Context, _ []byte) error {
	next, err := k.load(ctx)
	if err != nil {
		return err
	}
	k.now.Swap(next).close()
	return nil
}

// close ends the connections to KMS plugins when no value is being transformed.
func (p *providers) close() {
	p.inside.Shut()
	p.inside.Wait()
	p.cancel()
}

// Close ends the connections to KMS plugins. It comes after the last use of the Keys.
func (k *Keys) Close() {
	if k != nil {
		k.now.Load().cancel()
	}
}

// For returns the transformer that encrypts the values of a resource; nil for nil Keys.
func (k *Keys) For(resource schema.GroupResource) value.Transformer {
	if k == nil {
		return nil
	}
	return transformer{k, resource}
}

// transformer encrypts the values of a resource with the providers that are in effect.
type transformer struct {
	keys     *Keys
	resource schema.GroupResource
}

// enter returns the providers in effect. The caller must call Leave of their gate.
func (t transformer) enter() (*providers, value.Transformer) {
	for {
		if now := t.keys.now.Load(); now.inside.Enter() {
			return now, now.transformers.TransformerForResource(t.resource)
		}
	}
}

// TransformFromStorage implements value.Transformer.
func (t transformer) TransformFromStorage(ctx context.Context, data []byte, about value.Context) ([]byte, bool, error) {
	now, one := t.enter()
	defer now.inside.Leave()
	return one.TransformFromStorage(ctx, data, about)
}

// TransformToStorage implements value.Transformer.
func (t transformer) TransformToStorage(ctx context.Context, data []byte, about value.Context) ([]byte, error) {
	now, one := t.enter()
	defer now.inside.Leave()
	return one.TransformToStorage(ctx, data, about)
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
