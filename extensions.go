package minikcm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/auth"
)

// Extension adds a service at /minikcm/v1/NAME and beneath. Only users in the group
// system:masters may use it.
type Extension struct {
	// Name consists of lower case letters. GET /minikcm/v1 lists it as a feature.
	Name string
	// Kinds are kinds of the API whose objects show and change what the extension serves.
	Kinds []Kind
	// Start returns the service of a cluster whose parts run; its nodes may not be Ready
	// yet. ctx bounds only the start.
	Start func(ctx context.Context, cluster *Cluster) (ExtensionHandler, error)
}

// ExtensionHandler serves the requests of an Extension.
type ExtensionHandler interface {
	// ServeHTTP gets unchanged paths. The Ledger does not count its requests.
	http.Handler
	// Close stops the service's work in the cluster and its streamed responses, and returns
	// when they have ended. The API server and its other clients run until then.
	Close() error
}

// Kind is a kind of the API whose objects are in the memory of this process, not in the store: clients
// read, watch and change them as all others, also during a fault of the store or of the API server.
type Kind struct {
	// Definition is a CustomResourceDefinition, in YAML, with one version, a status and cluster scope.
	Definition []byte
	// Objects returns the objects that an extension's service has.
	Objects func(service ExtensionHandler) LiveObjects
	// Ticks says that the objects change with time alone, so that watches look at them again and again.
	Ticks bool
	// Creates says that clients create and delete objects: the LiveObjects are LiveCreators.
	Creates bool
}

// LiveCreator begins and ends objects that clients create and delete.
type LiveCreator = apiserver.LiveCreator

// LiveObjects show and change the state of the process.
type LiveObjects = apiserver.LiveObjects

// LiveObject is the content of one of the LiveObjects.
type LiveObject = apiserver.LiveObject

// lateObjects are the objects of an extension, which begins after the server: there are none before.
type lateObjects struct {
	objects atomic.Pointer[LiveObjects]
	begun   chan struct{}
}

// Now implements LiveObjects.
func (l *lateObjects) Now() []LiveObject {
	if o := l.objects.Load(); o != nil {
		return (*o).Now()
	}
	return nil
}

// Apply implements LiveObjects.
func (l *lateObjects) Apply(ctx context.Context, name string, spec []byte, dryRun bool) error {
	if o := l.objects.Load(); o != nil {
		return (*o).Apply(ctx, name, spec, dryRun)
	}
	return errStarting
}

// Create implements LiveCreator.
func (l *lateObjects) Create(ctx context.Context, name string, spec []byte, dryRun bool) error {
	if o := l.objects.Load(); o != nil {
		return (*o).(LiveCreator).Create(ctx, name, spec, dryRun)
	}
	return errStarting
}

// Delete implements LiveCreator.
func (l *lateObjects) Delete(ctx context.Context, name string, dryRun bool) error {
	if o := l.objects.Load(); o != nil {
		return (*o).(LiveCreator).Delete(ctx, name, dryRun)
	}
	return errStarting
}

// Changed implements LiveObjects.
func (l *lateObjects) Changed() <-chan struct{} {
	if o := l.objects.Load(); o != nil {
		return (*o).Changed()
	}
	return l.begun
}

func (l *lateObjects) begin(o LiveObjects) {
	l.objects.Store(&o)
	close(l.begun)
}

var extensionName = regexp.MustCompile(`^[a-z]+$`)

// ownFeatures are the names that every cluster serves beneath /minikcm/v1/.
var ownFeatures = []string{"controllers", "snapshot", "why", "writes"}

// validateExtensions returns an error for names that cannot be served, alone or together.
func validateExtensions(extensions []Extension) error {
	taken := slices.Clone(ownFeatures)
	for _, e := range extensions {
		switch {
		case !extensionName.MatchString(e.Name):
			return fmt.Errorf("the extension %q cannot be served: its name must consist of lower case letters", e.Name)
		case slices.Contains(taken, e.Name):
			return fmt.Errorf("the extension %q cannot be served: another one has this name", e.Name)
		case e.Start == nil:
			return fmt.Errorf("the extension %q cannot be served: it has no Start", e.Name)
		}
		taken = append(taken, e.Name)
	}
	return nil
}

// services are the running services of a cluster's extensions.
type services struct {
	mu      sync.Mutex
	byName  map[string]ExtensionHandler
	started []ExtensionHandler
	// kinds has the objects of the kinds of each extension, in their order.
	kinds map[string][]*lateObjects
}

func (s *services) get(name string) ExtensionHandler {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

func (s *services) add(name string, service ExtensionHandler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = map[string]ExtensionHandler{}
	}
	s.byName[name] = service
	s.started = append(s.started, service)
}

// close closes the services, the newest first.
func (s *services) close() error {
	s.mu.Lock()
	started := slices.Clone(s.started)
	s.mu.Unlock()
	var errs []error
	for _, service := range slices.Backward(started) {
		errs = append(errs, service.Close())
	}
	return errors.Join(errs...)
}

// kindsOf returns the kinds of extensions, whose objects services will have.
func (s *services) kindsOf(extensions []Extension) []apiserver.LiveKind {
	var all []apiserver.LiveKind
	s.kinds = map[string][]*lateObjects{}
	for _, e := range extensions {
		for _, kind := range e.Kinds {
			late := &lateObjects{begun: make(chan struct{})}
			s.kinds[e.Name] = append(s.kinds[e.Name], late)
			all = append(all, apiserver.LiveKind{Definition: kind.Definition, Objects: late, Ticks: kind.Ticks, Creates: kind.Creates})
		}
	}
	return all
}

// startExtensions starts the services of the extensions in their order.
func (c *Cluster) startExtensions(ctx context.Context) error {
	for _, e := range c.opts.API.Extensions {
		service, err := e.Start(ctx, c)
		if err != nil {
			return fmt.Errorf("starting the extension %q: %w", e.Name, err)
		}
		c.services.add(e.Name, service)
		for i, kind := range e.Kinds {
			c.services.kinds[e.Name][i].begin(kind.Objects(service))
		}
	}
	return nil
}

// Service returns the running service of the extension of that name, for others of the same
// cluster; nil if there is none.
func (c *Cluster) Service(name string) ExtensionHandler { return c.services.get(name) }

// serveExtension serves a request beneath an extension's name; it returns false if no
// extension has that name.
func (c *Cluster) serveExtension(w http.ResponseWriter, r *http.Request) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, ownPath+"/"), "/")
	if !slices.ContainsFunc(c.opts.API.Extensions, func(e Extension) bool { return e.Name == name }) {
		return false
	}
	user := auth.FromContext(r.Context())
	if user == nil || !slices.Contains(user.Groups, auth.GroupMasters) {
		if user == nil {
			user = auth.Anonymous()
		}
		WriteError(w, auth.Forbidden(auth.Attributes{User: user, Verb: strings.ToLower(r.Method), Path: r.URL.Path},
			fmt.Sprintf("only the group %s may", auth.GroupMasters)))
		return true
	}
	service := c.services.get(name)
	if service == nil {
		WriteError(w, errStarting)
		return true
	}
	service.ServeHTTP(w, r)
	return true
}

// RequestUser returns the name of the user whose request an ExtensionHandler serves.
func RequestUser(r *http.Request) string { return auth.NameFromContext(r.Context()) }

// WriteError responds with the Status of an API error, or with an internal error.
func WriteError(w http.ResponseWriter, err error) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	writeStatus(w, &status)
}
