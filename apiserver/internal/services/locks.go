package services

import (
	"context"
	"errors"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/writerecord"
	"minikcm.dev/minikcm/store"
)

// addressLocks stores the IPAddresses that reserve the Services' addresses. The server
// writes them in addition to the Service of a request.
type addressLocks struct{ services *Services }

func (l addressLocks) objects() *storage.Objects {
	return l.services.opts.Objects(networkingv1.SchemeGroupVersion.WithResource("ipaddresses"))
}

// Create stores a new address.
func (l addressLocks) Create(ctx context.Context, address *networkingv1.IPAddress) (int64, error) {
	row := l.services.opts.Row(networkingv1.SchemeGroupVersion.WithKind("IPAddress"))
	if err := l.services.opts.Preparer.Create(row, address); err != nil {
		return 0, err
	}
	stored, err := l.objects().Create(ctx, l.objects().Key("", address.Name), address, false)
	if err != nil {
		return 0, err
	}
	m, err := meta.Accessor(stored)
	if err != nil {
		return 0, err
	}
	revision, err := storage.ParseRevision(m.GetResourceVersion())
	if err != nil {
		return 0, err
	}
	l.services.record(ctx, request.VerbCreate, networkingv1.SchemeGroupVersion.WithResource("ipaddresses"), stored, revision)
	return revision, nil
}

// Get reads an address from the store.
func (l addressLocks) Get(ctx context.Context, name string) (*networkingv1.IPAddress, error) {
	obj, err := l.objects().Get(ctx, l.objects().Key("", name), name)
	if err != nil {
		return nil, err
	}
	address, ok := obj.(*networkingv1.IPAddress)
	if !ok {
		return nil, apierrors.NewNotFound(networkingv1.Resource("ipaddresses"), name)
	}
	return address, nil
}

// Delete deletes an address if it is unchanged since revision.
func (l addressLocks) Delete(ctx context.Context, name string, revision int64) error {
	resource := networkingv1.SchemeGroupVersion.WithResource("ipaddresses")
	deleted, err := l.objects().Remove(ctx, l.objects().Key("", name), revision)
	var conflict *store.ConflictError
	switch {
	case err == nil:
		gone := &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: name}}
		l.services.record(ctx, request.VerbDelete, resource, gone, deleted)
		return nil
	case errors.As(err, &conflict) && conflict.Current == nil:
		return apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return storage.Translate(err, resource.GroupResource(), name)
}

// List lists all addresses from the store.
func (l addressLocks) List(ctx context.Context) ([]*networkingv1.IPAddress, error) {
	return storage.ListAll[*networkingv1.IPAddress](ctx, l.objects())
}

// serverActor is the actor of the server's own writes, as upstream.
const serverActor = "system:apiserver"

// record records a write of the server itself, with the causes of the request in
// ctx, if there is one.
func (s *Services) record(ctx context.Context, verb string, resource schema.GroupVersionResource, obj runtime.Object, revision int64) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	effect := writerecord.Created
	if verb == request.VerbDelete {
		effect = writerecord.Removed
	}
	s.opts.Log.Add(writerecord.Write{
		Revision: revision, Time: s.opts.Clock.Now(), Actor: serverActor, Verb: verb, Resource: metav1.GroupVersionResource(resource),
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), Causes: cause.From(ctx),
		Kind: "IPAddress", Effect: effect,
	}, nil, obj)
}
