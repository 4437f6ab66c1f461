package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/apiservices"
	"minikcm.dev/minikcm/apiserver/internal/crd"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/served"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

// serverName is the user name of the server's own writes.
const serverName = "system:apiserver"

// ownRequest returns a request that the server makes to itself.
func (s *Server) ownRequest(ctx context.Context, row *resources.Resource, objects *storage.Objects, verb string, name types.NamespacedName) *verbs.Call {
	r := (&http.Request{Method: http.MethodPut, Header: http.Header{"User-Agent": {"kube-apiserver"}}}).WithContext(ctx)
	return s.verbs.NewCall(request.Request{
		Info: request.Info{Verb: verb, GVR: row.GVR(), Namespace: name.Namespace, Name: name.Name},
		Env:  s.env, HTTP: r, Row: row, Objects: objects, Local: true,
		User: &auth.User{Name: serverName, Groups: []string{auth.GroupMasters}},
	})
}

// ownWriter implements served.Writer.
type ownWriter struct{ server *Server }

// UpdateDefinition implements served.Writer.
func (w ownWriter) UpdateDefinition(ctx context.Context, name string, alter func(*apiextensionsv1.CustomResourceDefinition)) error {
	return updateOwn(ctx, w.server, crd.Resource, name, alter)
}

// updateAPIService changes the status of an APIService.
func (s *Server) updateAPIService(ctx context.Context, name string, alter func(*apiregistrationv1.APIService)) error {
	return updateOwn(ctx, s, apiservices.Resource(), name, alter)
}

// updateOwn changes an object of the server itself, and deletes it if nothing holds it any
// more.
func updateOwn[T runtime.Object](ctx context.Context, s *Server, resource schema.GroupVersionResource, name string, alter func(T)) error {
	objects := s.stored[resource]
	rq := s.ownRequest(ctx, s.table.Lookup(resource), objects, request.VerbUpdate, types.NamespacedName{Name: name})
	result, err := objects.Update(ctx, rq.Key(), name, func(current runtime.Object) (runtime.Object, error) {
		object, ok := current.DeepCopyObject().(T)
		if !ok {
			return nil, fmt.Errorf("a %T is stored as %s %s", current, resource.Resource, name)
		}
		alter(object)
		if strategy.ReadyToDelete(rq.Row, object) {
			return object, storage.ErrDelete
		}
		return object, nil
	}, storage.UpdateOptions{})
	if err == nil && !result.Unchanged {
		rq.RecordWrite(result)
	}
	return err
}

// Delete implements served.Writer.
func (w ownWriter) Delete(ctx context.Context, row *resources.Resource, objects *storage.Objects, name types.NamespacedName) (gone bool, err error) {
	_, gone, err = w.server.ownRequest(ctx, row, objects, request.VerbDelete, name).Delete(ctx, &metav1.DeleteOptions{})
	return gone, err
}

// newDefinitions returns the Definitions, which build the served API.
func (s *Server) newDefinitions() *served.Definitions {
	var shared store.Store
	if s.opts.SharedStore {
		shared = s.opts.Store
	}
	return served.New(served.Options{
		Shared:  shared,
		BuiltIn: s.table, Objects: s.objects, Definitions: s.stored[crd.Resource], Writer: ownWriter{s},
		NewObjects: func(row *resources.Resource) *storage.Objects {
			return storage.New(storage.Config{
				Resource: row, Store: s.opts.Store, Decoder: s.decoder, Clock: s.opts.Clock, Ledger: s.opts.Ledger, Since: s.since,
				Transformer: s.opts.Encryption.For(row.GroupResource()),
			})
		},
		Services: s.skipper, Inside: s.inside(false), Skip: s.skipper.Skip, Changed: s.describeServed, Retired: s.forgetKinds,
		KubeVersion: s.opts.KubeVersion, Clock: s.opts.Clock, Ledger: s.opts.Ledger, Logger: s.opts.Logger,
	})
}

// current returns the API that is served now.
func (s *Server) current() *served.API { return s.definitions.Current() }

var errTerminating = errors.New("create not allowed while custom resource definition is terminating")

// forbidCreate rejects new objects of a custom kind whose definition is being deleted.
type forbidCreate struct{ server *Server }

// Mutate rejects such a create.
func (f forbidCreate) Mutate(_ context.Context, a *admission.Attributes) error {
	if a.Operation != admission.Create || !a.Resource.Custom {
		return nil
	}
	if !f.server.current().IsTerminating(a.Resource) {
		return nil
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, errTerminating)
}

// ReserveDefinition reserves the names of a custom kind.
func (s reservations) ReserveDefinition(ctx context.Context, obj, old runtime.Object, _ bool) (func(error), error) {
	return s.definitions.Reserve(ctx, obj, old)
}
