package minikcmtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/faults"
)

// APICall is a fault of some requests to the API, as an interceptor of a fake client declares it.
type APICall struct {
	// Verb is one of the API's verbs: get, list, watch, create, update, patch, delete or
	// deletecollection; empty: any.
	Verb string
	// Resource is written as pods, pods/status, deployments.apps, or pods/* for all subresources; pods
	// alone does not match subresources. Empty: any resource.
	Resource string
	// Namespace and Name are the object's; empty: any. A request for a collection has no name.
	Namespace, Name string
	// User makes the requests, such as ctrltest.DefaultUser; empty: any user, also the cluster's own
	// controllers and nodes.
	User string
	// Nth is which of the requests is affected: 1 is the first one after FailCalls; 0: all.
	Nth int
	// Err is the error that the client gets, before any effect: one of
	// k8s.io/apimachinery/pkg/api/errors, such as apierrors.NewConflict(...). Nil: the request is served.
	Err error
	// Delay makes the request take longer, in the cluster's time.
	Delay time.Duration
}

// verbs are the verbs of the API.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// String returns words for an error message: "update 3 of deployments.apps shop/web".
func (a APICall) String() string {
	verb, resource, of := a.Verb, a.Resource, ""
	if verb == "" {
		verb = "request"
	}
	if a.Nth > 0 {
		verb = fmt.Sprintf("%s %d", verb, a.Nth)
	}
	if resource == "" {
		resource = "any resource"
	}
	if a.Namespace != "" || a.Name != "" {
		of = " " + strings.TrimPrefix(a.Namespace+"/"+a.Name, "/")
	}
	if a.User != "" {
		of += " by " + a.User
	}
	return verb + " of " + resource + of
}

func (a APICall) check() error {
	switch {
	case a.Verb != "" && !slices.Contains(verbs, a.Verb):
		return fmt.Errorf("the verb %q is not one of %s", a.Verb, strings.Join(verbs, ", "))
	case a.Nth < 0:
		return fmt.Errorf("%s: Nth must not be negative", a)
	case a.Err == nil && a.Delay <= 0:
		return fmt.Errorf("%s: neither Err nor Delay is set, so the fault has no effect", a)
	}
	return nil
}

func (a APICall) rule() minikcm.APIFault {
	one := func(value string) []string {
		if value == "" {
			return nil
		}
		return []string{value}
	}
	rule := minikcm.APIFault{
		Match: minikcm.APIFaultMatch{Verbs: one(a.Verb), Resources: one(a.Resource), Namespaces: one(a.Namespace), Names: one(a.Name), Users: one(a.User)},
		Err:   a.Err, Latency: a.Delay,
	}
	if a.Nth > 0 {
		rule.Skip, rule.Times = a.Nth-1, 1
	}
	return rule
}

// FailCalls injects faults into requests to the API until end is called, or the test ends. Then the
// test fails if the request of a fault with Nth did not come. The cluster needs the option
// WithFaults.
//
//	cluster.FailCalls(
//		minikcmtest.APICall{Verb: "update", Resource: "sites.example.com/status", Name: "home", Nth: 1, Err: conflict},
//		minikcmtest.APICall{Verb: "create", Resource: "configmaps", User: ctrltest.DefaultUser, Err: forbidden},
//	)
func (c *Cluster) FailCalls(calls ...APICall) (end func()) {
	c.t.Helper()
	if c.APIFaults() == nil {
		c.t.Fatal("FailCalls: start the cluster with the option minikcmtest.WithFaults()")
	}
	for _, call := range calls {
		if err := call.check(); err != nil {
			c.t.Fatalf("FailCalls: %v", err)
		}
	}
	applied := make([]*faults.Applied, len(calls))
	for i, call := range calls {
		applied[i] = c.APIFaults().Apply(call.rule())
	}
	end = sync.OnceFunc(func() {
		c.t.Helper()
		for i, a := range applied {
			a.Remove()
			if met := a.Met(); met < calls[i].Nth {
				c.t.Errorf("FailCalls: there was no %s, but only %d before it", calls[i], met)
			}
		}
	})
	c.t.Cleanup(end)
	return end
}
