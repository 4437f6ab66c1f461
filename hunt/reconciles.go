package hunt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm/minikcmtest"
)

// request identifies an object that a controller of the operator reconciles.
type request struct{ controller, object string }

// end is how a reconcile ended.
type end struct {
	after time.Duration
	text  string // of the error or the panic; empty if there was none
}

// maxError caps the characters of an error in a report.
const maxError = 300

// reconciled notes the end of a reconcile, unless the operator has crashed.
func (c *course) reconciled(r minikcmtest.Reconcile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life == nil || c.life.crashed {
		return
	}
	namespace, name := splitRef(r.Request)
	if other, ok := c.generated[name]; ok {
		name = other
	}
	of := request{r.Controller, strings.TrimPrefix(namespace+"/"+name, "/")}
	e := end{after: c.cluster.Clock().Since(c.begin)}
	switch {
	case r.Panic != nil:
		e.text = clipped(fmt.Sprint(r.Panic))
		if _, ok := c.panics[of]; !ok {
			c.panics[of] = e
		}
	case r.Err != nil:
		e.text = clipped(r.Err.Error())
	}
	c.reconciles[of] = e
}

func clipped(text string) string {
	if len(text) > maxError {
		return strings.ToValidUTF8(text[:maxError], "") + "..."
	}
	return text
}

// reconcilesLocked looks for panics, and for requests whose last reconcile ended with an error after since. If a write fails for ever, that
// is why.
func (c *course) reconcilesLocked(found conduct, since time.Duration) {
	explained := slices.ContainsFunc(slices.Collect(maps.Values(found)), func(m misdeed) bool { return m.class == endless })
	for of, e := range c.reconciles {
		if _, panics := c.panics[of]; panics || e.text == "" || e.after < since || explained {
			continue
		}
		found[fmt.Sprintf("reconcile %s %s", of.controller, of.object)] = misdeed{endless, fmt.Sprintf("its controller %s fails for ever to reconcile %s: %s", of.controller, of.object, e.text)}
	}
	for of, e := range c.panics {
		found[fmt.Sprintf("panic %s %s", of.controller, of.object)] = misdeed{"panic", fmt.Sprintf("its controller %s panics when it reconciles %s: %s", of.controller, of.object, e.text)}
	}
}

// behindOf says that the status of an object is one of an older generation; empty if it is not.
func behindOf(o *unstructured.Unstructured) string {
	seen, ok, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if !ok || seen >= o.GetGeneration() {
		return ""
	}
	return fmt.Sprintf("it leaves the status of %s %s at generation %d of %d", o.GetKind(), strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"), seen, o.GetGeneration())
}
