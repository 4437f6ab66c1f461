package served

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/crd"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/store"
)

// nameEpochs is the number of epochs of names. Groups share them, so that the keys do not grow with
// the groups that ever existed: an epoch that ends early only makes a write repeat.
const nameEpochs = 16

// beginNames begins an epoch for the names of a definition's group, on a store that other processes use,
// too, and reads the definitions that have names at its beginning. The definition is stored in that epoch
// only:
//
//	T1 A begins epoch 1, finds no definition of the kind Thing, and accepts the name
//	T2 B begins epoch 2 and finds none either
//	T3 A's write of epoch 1 fails and is repeated by its client; had it been before T2, B would
//	   have found it
//	T4 B's write of epoch 2 succeeds
//	T5 A begins epoch 3 and finds B's definition: the name is taken
func (d *Definitions) beginNames(ctx context.Context, definition, was *apiextensionsv1.CustomResourceDefinition) error {
	if d.opts.Shared == nil || was != nil && crd.NamesAccepted(was) && apiequality.Semantic.DeepEqual(was.Spec.Names, definition.Spec.Names) {
		return nil
	}
	key := nameEpochKey(definition.Spec.Group)
	revision, err := d.beginEpoch(ctx, key)
	if err != nil {
		return storage.Translate(err, schema.GroupResource{}, "")
	}
	storage.Require(ctx, key, revision, func(context.Context) (int64, error) { return 0, errSettledMeanwhile(definition.Spec.Group) })
	_, err = d.reloadLocked(ctx)
	return storage.Translate(err, schema.GroupResource{}, "")
}

func nameEpochKey(group string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(group)) // never fails
	return fmt.Sprintf("/minikcm/definitions/epochs/%02d", hash.Sum32()%nameEpochs)
}

// beginEpoch writes the key and returns its revision.
func (d *Definitions) beginEpoch(ctx context.Context, key string) (int64, error) {
	expected := int64(0)
	for {
		revision, err := d.opts.Shared.Put(ctx, key, nil, expected)
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return revision, err
		}
		if expected = 0; conflict.Current != nil {
			expected = conflict.Current.ModRevision
		}
	}
}

// errSettledMeanwhile returns the error for a definition whose names another process may have given
// away. Clients repeat the request.
func errSettledMeanwhile(group string) error {
	const retryAfter = 1 // seconds
	return apierrors.NewTooManyRequests(fmt.Sprintf("nothing was written: the names of the group %s were settled meanwhile; try again", group), retryAfter)
}
