package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// OverwriteError lists objects of an existing cluster that a scenario would change although no
// scenario has made them.
type OverwriteError struct {
	Scenario string
	// Objects are such as "deployment/web in namespace default".
	Objects []string
}

func (e *OverwriteError) Error() string {
	return fmt.Sprintf("%s would change objects that exist: %s. Give it a namespace of its own with --namespace NAME, or let it change them with --overwrite",
		e.Scenario, strings.Join(e.Objects, ", "))
}

// ownNamespace returns the namespace that takes the place of default on an existing cluster;
// empty if default stays. A shipped scenario gets one of its own, since its objects have
// names such as web.
func ownNamespace(s *Scenario, opts *Options) string {
	switch {
	case opts.Namespace != "":
		return opts.Namespace
	case strings.HasPrefix(s.File, "library/") && !opts.Overwrite:
		return "minikcm-" + s.Metadata.Name
	}
	return ""
}

// settleIn prepares a cluster that was there already: it makes the scenario's namespace,
// and refuses to change objects that no scenario has made. notes say what it did.
func (w *world) settleIn(ctx context.Context, s *Scenario, opts *Options) (notes []string, err error) {
	if namespace := ownNamespace(s, opts); namespace != "" {
		w.kinds.Default = namespace
		made, err := w.makeNamespace(ctx, namespace)
		if err != nil {
			return nil, err
		}
		note := "namespace " + namespace + " takes the place of default"
		if made {
			note += "; it is deleted at the end"
		}
		notes = append(notes, note)
		if err := w.namespacedKubeconfig(namespace); err != nil {
			return nil, err
		}
	}
	if opts.Overwrite {
		return notes, nil
	}
	return notes, w.refuseOverwrite(ctx, s)
}

// namespaceDeleteTimeout bounds the request that deletes the scenario's namespace.
const namespaceDeleteTimeout = 10 * time.Second

// makeNamespace creates a namespace unless it exists. Closing the world deletes a namespace
// that was created.
func (w *world) makeNamespace(ctx context.Context, name string) (made bool, err error) {
	namespaces := w.client.CoreV1().Namespaces()
	_, err = namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsAlreadyExists(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("making the scenario's namespace: %w", err)
	}
	w.closers = append(w.closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), namespaceDeleteTimeout)
		defer cancel()
		if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting the scenario's namespace: %w", err)
		}
		return nil
	})
	return true, w.awaitServiceAccount(ctx, name)
}

// serviceAccountTimeout bounds the wait for a namespace's service account. The run goes on
// without it if the cluster's controllers make none.
const serviceAccountTimeout = 5 * time.Second

// awaitServiceAccount returns when pods can be created in a new namespace: they need its
// service account, which a controller makes.
func (w *world) awaitServiceAccount(ctx context.Context, namespace string) error {
	waiting, cancel := context.WithTimeout(ctx, serviceAccountTimeout)
	defer cancel()
	accounts := w.client.CoreV1().ServiceAccounts(namespace)
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, "default").String()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = only
			return accounts.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = only
			return accounts.Watch(ctx, options)
		},
	}
	_, err := watchtools.UntilWithSync(waiting, lw, &corev1.ServiceAccount{}, nil, func(event watch.Event) (bool, error) {
		return event.Type == watch.Added || event.Type == watch.Modified, nil
	})
	if err != nil && waiting.Err() == nil {
		return fmt.Errorf("waiting for the service account of namespace %s: %w", namespace, err)
	}
	return context.Cause(ctx)
}

// namespacedKubeconfig gives scripts a copy of the kubeconfig whose context is in the
// namespace.
func (w *world) namespacedKubeconfig(namespace string) (err error) {
	if w.kubeconfig == "" {
		return nil
	}
	rules := clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(w.kubeconfig)}
	config, err := rules.Load()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig for scripts: %w", err)
	}
	if current := config.Contexts[config.CurrentContext]; current != nil {
		current.Namespace = namespace
	}
	dir, err := os.MkdirTemp("", "minikcm-scenario-")
	if err != nil {
		return fmt.Errorf("making a directory for the kubeconfig: %w", err)
	}
	w.closers = append(w.closers, func() error { return os.RemoveAll(dir) })
	w.kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, w.kubeconfig); err != nil {
		return fmt.Errorf("writing the kubeconfig for scripts: %w", err)
	}
	return nil
}

// refuseOverwrite returns an OverwriteError if the scenario applies an object that exists and
// that no scenario has applied before.
func (w *world) refuseOverwrite(ctx context.Context, s *Scenario) error {
	refused := &OverwriteError{Scenario: s.Metadata.Name}
	var errs []error
	for _, o := range collect(s, func(k *kind, value any) []spec.Object { return k.overwrites(value) }) {
		title, err := w.foreign(ctx, &o)
		errs = append(errs, err)
		if title != "" && !slices.Contains(refused.Objects, title) {
			refused.Objects = append(refused.Objects, title)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(refused.Objects) > 0 {
		return refused
	}
	return nil
}

// foreign returns the title of an object that exists and that no scenario has applied; empty
// for other objects.
func (w *world) foreign(ctx context.Context, o *spec.Object) (title string, err error) {
	placed, q, err := w.kinds.Placed(o)
	if err != nil || placed.GetName() == "" {
		return "", nil // the scenario may define the kind itself
	}
	found, err := w.dynamic.Resource(q.Resource).Namespace(q.Namespace).Get(ctx, placed.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("checking whether %s exists: %w", o.Title(), err)
	}
	for _, entry := range found.GetManagedFields() {
		if entry.Manager == fieldManager {
			return "", nil
		}
	}
	if q.Namespace == "" {
		return placed.Title(), nil
	}
	return placed.Title() + " in namespace " + q.Namespace, nil
}
