package faultapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
)

const (
	// maxBody caps the document of a fault, in bytes.
	maxBody = 64 << 10
	// listInterval is the machine's time between two lines of a followed list: the changes in
	// between are in one line.
	listInterval = 100 * time.Millisecond
)

// kindOfFault names faults in a Status.
var kindOfFault = schema.GroupKind{Group: "minikcm.dev", Kind: "Fault"}

// ServeHTTP implements minikcm.ExtensionHandler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/")
	type route struct{ method, what string }
	what := "item"
	if id == "" {
		what = "list"
	}
	serve, ok := map[route]func(http.ResponseWriter, *http.Request, string) error{
		{http.MethodGet, "list"}:    s.serveList,
		{http.MethodPost, "list"}:   s.serveInject,
		{http.MethodGet, "item"}:    s.serveGet,
		{http.MethodDelete, "item"}: s.serveStop,
	}[route{r.Method, what}]
	if !ok {
		serve = func(http.ResponseWriter, *http.Request, string) error {
			return openrequests.NotAllowed(w, r, resource, map[string]string{"list": "GET, POST", "item": "GET, DELETE"}[what])
		}
	}
	if err := serve(w, r, id); err != nil {
		minikcm.WriteError(w, err)
	}
}

var resource = schema.GroupResource{Group: kindOfFault.Group, Resource: Feature}

// serveList answers with the faults or, with follow=true, with a line for each change of them.
func (s *service) serveList(w http.ResponseWriter, r *http.Request, _ string) error {
	follow, err := openrequests.Follow(r)
	if err != nil {
		return err
	}
	if !follow {
		openrequests.Answer(w, http.StatusOK, s.shown())
		return nil
	}
	ctx, end, ok := s.follows.Begin(r.Context())
	if !ok {
		return errClosed
	}
	defer end()
	s.news.Stream(ctx, w, listInterval, func() (any, bool) { return s.shown(), false })
	return nil
}

// shown returns the present content of the list.
func (s *service) shown() List {
	list := List{Now: s.cluster.Clock().Now().UTC(), Items: []Injection{}}
	for _, r := range s.list() {
		shown, _ := r.look()
		list.Items = append(list.Items, shown)
	}
	return list
}

// serveInject injects the fault in the body. With follow=true the answer is a stream, and the
// fault is taken back if the client goes.
func (s *service) serveInject(w http.ResponseWriter, r *http.Request, _ string) error {
	query, err := openrequests.Parameters(r, "seed", "follow")
	if err != nil {
		return err
	}
	follow, err := openrequests.Boolean(query, "follow")
	if err != nil {
		return err
	}
	seed, err := seedOf(query)
	if err != nil {
		return err
	}
	f, err := readFault(w, r)
	if err != nil {
		return err
	}
	injected, err := s.inject(f, injectOptions{user: minikcm.RequestUser(r), seed: seed})
	if err != nil {
		return err
	}
	w.Header().Set("Location", Path+"/"+injected.shown.ID)
	if !follow {
		shown, _ := injected.look()
		openrequests.Answer(w, http.StatusCreated, shown)
		return nil
	}
	if stream(w, r, http.StatusCreated, injected) != nil {
		injected.stop(errLeft)
	}
	return nil
}

// readFault reads the one fault in a request's body, and checks it.
func readFault(w http.ResponseWriter, r *http.Request) (*fault.Fault, error) {
	data, err := openrequests.ReadBody(w, r, maxBody, "a fault", "reading the fault")
	if err != nil {
		return nil, err
	}
	f, err := parseOne(data)
	var problems spec.Problems
	if errors.As(err, &problems) {
		return nil, invalid(problems)
	}
	return f, err
}

// invalid is the answer to a fault with problems, a cause for each.
func invalid(problems spec.Problems) error {
	err := apierrors.NewInvalid(kindOfFault, "", nil)
	var texts []string
	for _, p := range problems {
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: p.Field, Message: p.Message})
		texts = append(texts, strings.TrimPrefix(p.Field+": "+p.Message, ": "))
	}
	err.ErrStatus.Message = "the fault is invalid: " + strings.Join(texts, "; ")
	return err
}

// serveGet answers with a fault or, with follow=true, with a line for each of its changes.
func (s *service) serveGet(w http.ResponseWriter, r *http.Request, id string) error {
	follow, err := openrequests.Follow(r)
	if err != nil {
		return err
	}
	found := s.find(id)
	if found == nil {
		return apierrors.NewNotFound(resource, id)
	}
	if follow {
		_ = stream(w, r, http.StatusOK, found) // it fails only if the client is gone
		return nil
	}
	shown, _ := found.look()
	openrequests.Answer(w, http.StatusOK, shown)
	return nil
}

// serveStop takes a fault back and answers when that is done.
func (s *service) serveStop(w http.ResponseWriter, r *http.Request, id string) error {
	if _, err := openrequests.Parameters(r); err != nil {
		return err
	}
	found := s.find(id)
	if found == nil {
		return apierrors.NewNotFound(resource, id)
	}
	if found.adopted {
		return apierrors.NewConflict(resource, id, errAdopted)
	}
	found.stop(errStopped)
	select {
	case <-found.done:
	case <-r.Context().Done():
	}
	shown, _ := found.look()
	openrequests.Answer(w, http.StatusOK, shown)
	return nil
}

// stream writes a fault as a line of JSON now and at each change, until it is done. It
// returns an error if the client is gone.
func stream(w http.ResponseWriter, r *http.Request, code int, of *running) error {
	w.Header().Set("Content-Type", "application/json;stream=watch")
	w.WriteHeader(code)
	for {
		shown, changed := of.look()
		if err := openrequests.WriteLine(w, shown); err != nil {
			return err
		}
		if shown.State.Done() {
			return nil
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return context.Cause(r.Context())
		}
	}
}

func seedOf(query url.Values) (uint64, error) {
	text := query.Get("seed")
	if text == "" {
		return 0, nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("seed=%q is not a whole number from 0 to 2^64-1", text))
	}
	return seed, nil
}
