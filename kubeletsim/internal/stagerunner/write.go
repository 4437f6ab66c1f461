package stagerunner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/stages"
)

// fieldManager is the manager of the fields that Stages set.
const fieldManager = "kwok"

var errBadTemplate = errors.New("the template made no object")

// do makes one write. It returns the object's version after it, if it changed the object.
func (r *Runner) do(ctx context.Context, k key, object *unstructured.Unstructured, action *stages.Action) (version string, err error) {
	switch {
	case action.Event != nil:
		if r.opts.Recorder != nil {
			r.opts.Recorder.Event(&corev1.ObjectReference{
				APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
			}, action.Event.Type, action.Event.Reason, action.Event.Message)
		}
		return "", nil
	case action.Apply != nil:
		return "", r.apply(ctx, object.GetNamespace(), action.Apply)
	case action.Patch != nil:
		client, err := r.at(k, action.Patch.User)
		if err != nil {
			return "", err
		}
		written, err := client.Patch(ctx, k.name.Name, action.Patch.Type, action.Patch.Data, metav1.PatchOptions{FieldManager: fieldManager}, subresources(action.Patch)...)
		if err != nil {
			return "", err
		}
		return written.GetResourceVersion(), nil
	}
	client, err := r.at(k, "")
	if err != nil {
		return "", err
	}
	now, uid := int64(0), object.GetUID()
	err = client.Delete(ctx, k.name.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsConflict(err) {
		return "", nil // another object has the name
	}
	return "", err
}

func subresources(p *stages.Patch) []string {
	if p.Subresource == "" {
		return nil
	}
	return []string{p.Subresource}
}

// at returns the client of an object.
func (r *Runner) at(k key, user string) (dynamic.ResourceInterface, error) {
	client, err := r.clientOf(user)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	w := r.kinds[k.kind]
	r.mu.Unlock()
	if w == nil {
		return nil, errNotServed
	}
	if k.name.Namespace == "" {
		return client.Resource(w.Resource), nil
	}
	return client.Resource(w.Resource).Namespace(k.name.Namespace), nil
}

// apply creates or changes the object of a template.
func (r *Runner) apply(ctx context.Context, namespace string, p *stages.Patch) error {
	var o unstructured.Unstructured
	if err := json.Unmarshal(p.Data, &o.Object); err != nil || o.GetKind() == "" || o.GetName() == "" {
		return fmt.Errorf("%w: kind or metadata.name is missing", errBadTemplate)
	}
	resource, namespaced, err := r.resourceOf(o.GroupVersionKind())
	if err != nil {
		return err
	}
	all, err := r.clientOf(p.User)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = all.Resource(resource)
	if namespaced {
		if o.GetNamespace() != "" {
			namespace = o.GetNamespace()
		}
		client = all.Resource(resource).Namespace(namespace)
	}
	opts := metav1.PatchOptions{FieldManager: fieldManager}
	if p.Type == types.ApplyPatchType {
		force := true
		opts.Force = &force
	}
	_, err = client.Patch(ctx, o.GetName(), p.Type, p.Data, opts, subresources(p)...)
	if apierrors.IsNotFound(err) && p.Subresource == "" && p.Type != types.ApplyPatchType {
		_, err = client.Create(ctx, &o, metav1.CreateOptions{FieldManager: fieldManager})
	}
	return err
}

// users are the clients of the users that patches impersonate.
type users struct {
	config  *rest.Config
	mu      sync.Mutex
	clients map[string]dynamic.Interface
}

// maxUsers caps the users that Stages impersonate.
const maxUsers = 100

func (r *Runner) clientOf(user string) (dynamic.Interface, error) {
	if user == "" {
		return r.client, nil
	}
	r.users.mu.Lock()
	defer r.users.mu.Unlock()
	if client := r.users.clients[user]; client != nil {
		return client, nil
	}
	if len(r.users.clients) >= maxUsers {
		return nil, fmt.Errorf("%w: Stages impersonate more than %d users", errBadTemplate, maxUsers)
	}
	config := rest.CopyConfig(r.users.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the user %s: %w", user, err)
	}
	if r.users.clients == nil {
		r.users.clients = map[string]dynamic.Interface{}
	}
	r.users.clients[user] = client
	return client, nil
}
