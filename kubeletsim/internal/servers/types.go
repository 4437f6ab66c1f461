package servers

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"
)

// wants says which results of an expression a field takes. What an expression gives is known before any request, unless its type is
// dynamic, as with state and parsed JSON.
type wants struct {
	what string
	// kinds are the kinds of types; nil: all that can be written as text.
	kinds []types.Kind
}

var (
	aText      = wants{what: "a text"}
	aName      = wants{"a text", []types.Kind{types.StringKind}}
	aPort      = wants{"a port", []types.Kind{types.IntKind, types.UintKind, types.StringKind}}
	aNumber    = wants{"a whole number", []types.Kind{types.IntKind, types.UintKind, types.StringKind}}
	aCode      = wants{"a code of gRPC", []types.Kind{types.IntKind, types.UintKind, types.StringKind}}
	aDuration  = wants{"a duration", []types.Kind{types.DurationKind, types.StringKind}}
	aCondition = wants{"true or false", []types.Kind{types.BoolKind}}
	aChoice    = wants{"true, declared or false", []types.Kind{types.BoolKind, types.StringKind}}
	aMap       = wants{"a map of headers", []types.Kind{types.MapKind, types.StringKind}}
)

// check returns an error if a value is one expression whose result the field cannot take, or has one that cannot be written as text.
func (w wants) check(v *Value) error {
	for _, p := range v.pieces {
		if p.expression == nil {
			continue
		}
		is := p.expression.output
		if is.Kind() == types.OpaqueKind && len(is.Parameters()) == 1 {
			is = is.Parameters()[0]
		}
		fits := w.kinds == nil || len(v.pieces) > 1 || is.Kind() == types.DynKind || is.Kind() == types.AnyKind || is.Kind() == types.TypeParamKind || slices.Contains(w.kinds, is.Kind())
		if !fits || !isPlain(is) {
			return fmt.Errorf("the CEL expression %q gives %s in place of %s", strings.TrimSpace(p.expression.source), is, w.what)
		}
	}
	return nil
}

// isPlain reports whether the values of a type can be written as text or JSON: objects, types and optional values in them cannot.
func isPlain(t *types.Type) bool {
	switch t.Kind() {
	case types.StructKind, types.TypeKind, types.ErrorKind, types.UnknownKind, types.UnspecifiedKind:
		return false
	}
	return !slices.ContainsFunc(t.Parameters(), func(p *types.Type) bool { return !isPlain(p) })
}

// otherScheme is the beginning of a URL of a scheme other than http and https, or of one that is misspelled.
var otherScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:/`)

// checkURL returns what is wrong with the literal beginning of the URL of a call.
func checkURL(v *Value) error {
	begins := v.pieces[0].text
	lower := strings.ToLower(begins)
	switch {
	case v.pieces[0].expression != nil, strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"):
	case otherScheme.MatchString(begins):
		return fmt.Errorf("%q does not begin with http:// or https://", begins)
	case begins == "":
		return errors.New("it is empty")
	}
	return nil
}

// checkScript returns an error for a script that YAML does not have as text, such as yes, which is true for many readers of YAML.
func checkScript(node *yaml.Node) error {
	node = resolved(node)
	if node.IsZero() || node.Style != 0 {
		return nil
	}
	switch strings.ToLower(node.Value) {
	case "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return fmt.Errorf("%q without quotes is a value of YAML, and no script", node.Value)
	}
	return nil
}

// checkPorts returns an error if a port is listed twice, so that one of its listeners answers nothing.
func (d *Description) checkPorts() error {
	first := map[string]int{}
	for i, l := range d.listeners {
		text, ok := l.port.constant()
		if !ok {
			continue
		}
		for one := range strings.SplitSeq(text, ",") {
			key := string(l.protocol) + " " + strings.TrimSpace(one)
			if before, twice := first[key]; twice {
				return in(fmt.Sprintf("listen[%d]", i), in("port", fmt.Errorf("%s is that of listen[%d], too", key, before)))
			}
			first[key] = i
		}
	}
	return nil
}
