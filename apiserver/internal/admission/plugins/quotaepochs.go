package plugins

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/store"
)

const (
	// epochs is the number of epochs. Namespaces share them, so that the keys do not grow
	// with the namespaces that ever existed: an epoch that ends early only makes creates
	// repeat.
	epochs = 64
	// settledPrefix is the prefix of the keys of settled quotas.
	settledPrefix = "/minikcm/quota/settled/"
)

// quotaEpochs implements admission.Epochs in the store that the processes share.
type quotaEpochs struct{ store store.Store }

func epochKey(namespace string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(namespace)) // never fails
	return fmt.Sprintf("%s%02d", storage.EpochPrefix, hash.Sum32()%epochs)
}

// Current implements admission.Epochs.
func (q quotaEpochs) Current(ctx context.Context, namespace string) (key string, revision int64, err error) {
	key = epochKey(namespace)
	kv, err := q.get(ctx, key)
	if err != nil || kv == nil {
		return key, 0, err
	}
	return key, kv.ModRevision, nil
}

// Advance implements admission.Epochs. An epoch that another process begins meanwhile is as
// good.
func (q quotaEpochs) Advance(ctx context.Context, namespace string) error {
	return q.put(ctx, epochKey(namespace), nil)
}

// Settled implements admission.Epochs.
func (q quotaEpochs) Settled(ctx context.Context, quota *corev1.ResourceQuota) (bool, error) {
	kv, err := q.get(ctx, settledKey(quota.Namespace, quota.Name))
	return kv != nil && string(kv.Value) == quota.ResourceVersion, err
}

// Settle implements admission.Epochs. If another process settles the quota meanwhile, only
// one of the two revisions is still the quota's.
func (q quotaEpochs) Settle(ctx context.Context, quota *corev1.ResourceQuota) error {
	return q.put(ctx, settledKey(quota.Namespace, quota.Name), []byte(quota.ResourceVersion))
}

// Forget implements admission.Epochs.
func (q quotaEpochs) Forget(ctx context.Context, namespace, name string) error {
	kv, err := q.get(ctx, settledKey(namespace, name))
	if err != nil || kv == nil {
		return err
	}
	_, err = q.store.Delete(ctx, kv.Key, kv.ModRevision)
	return failedUnlessConflict(err)
}

func settledKey(namespace, name string) string { return settledPrefix + namespace + "/" + name }

// get returns nil if the key does not exist.
func (q quotaEpochs) get(ctx context.Context, key string) (*store.KeyValue, error) {
	kv, err := q.store.Get(ctx, key, 0)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return kv, storage.Translate(err, schema.GroupResource{}, "")
}

// put writes a key once. Another process may write it first.
func (q quotaEpochs) put(ctx context.Context, key string, value []byte) error {
	kv, err := q.get(ctx, key)
	if err != nil {
		return err
	}
	expected := int64(0)
	if kv != nil {
		expected = kv.ModRevision
	}
	_, err = q.store.Put(ctx, key, value, expected)
	return failedUnlessConflict(err)
}

// failedUnlessConflict returns the API error of a write that did not lose against another.
func failedUnlessConflict(err error) error {
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
		return nil
	}
	return storage.Translate(err, schema.GroupResource{}, "")
}
