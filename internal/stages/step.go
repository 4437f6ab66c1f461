package stages

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
)

// Action is one write of a Stage. One of its fields is set.
type Action struct {
	Event *Event
	// Patch changes the object, Apply another one, or this.
	Patch, Apply *Patch
	Delete       bool
}

// Patch is a change of an object.
type Patch struct {
	Type        types.PatchType
	Subresource string
	Data        []byte
	// User makes the request; empty: the runner does.
	User string
}

// compiledStep is a step. Of its actions, the event comes first.
type compiledStep struct {
	event      *Event
	finalizers *finalizers
	remove     bool
	patch      *compiledPatch
	apply      *compiledPatch
}

type compiledPatch struct {
	kind              types.PatchType
	subresource, root string
	body              *body
	user              string
}

func (s *step) compile() (compiledStep, error) {
	c := compiledStep{event: s.Event, finalizers: s.Finalizers, remove: s.Delete}
	if e := s.Event; e != nil && e.Type != "Normal" && e.Type != "Warning" {
		return c, fmt.Errorf("the event's type %q is neither Normal nor Warning", e.Type)
	}
	if f := s.Finalizers; f != nil && len(f.Add)+len(f.Remove) > maxRules {
		return c, fmt.Errorf("there are %d finalizers, more than %d", len(f.Add)+len(f.Remove), maxRules)
	}
	var err error
	if p := s.Patch; p != nil {
		kinds := map[string]types.PatchType{"": "", "json": types.JSONPatchType, "merge": types.MergePatchType, "strategic": types.StrategicMergePatchType}
		c.patch, err = compilePatch(kinds, p.Type, p.Template, p.Impersonation)
		if err != nil {
			return c, fmt.Errorf("patch: %w", err)
		}
		c.patch.subresource, c.patch.root = p.Subresource, p.Root
	}
	if a := s.Apply; a != nil {
		kinds := map[string]types.PatchType{"": types.ApplyPatchType, "apply": types.ApplyPatchType, "merge": types.MergePatchType, "strategic": types.StrategicMergePatchType}
		c.apply, err = compilePatch(kinds, a.Type, a.Template, a.Impersonation)
		if err != nil {
			return c, fmt.Errorf("apply: %w", err)
		}
		c.apply.subresource = a.Subresource
	}
	return c, nil
}

func compilePatch(kinds map[string]types.PatchType, kind, source string, as *impersonation) (*compiledPatch, error) {
	c := &compiledPatch{}
	var known bool
	if c.kind, known = kinds[kind]; !known {
		return nil, fmt.Errorf("the type %q is not known", kind)
	}
	if as != nil {
		if as.Username == "" {
			return nil, errors.New("impersonation has no username")
		}
		c.user = as.Username
	}
	var err error
	c.body, err = newBody(source)
	return c, err
}

// Actions returns the actions of the Stage on an object, in order. After a deletion, only events
// follow.
func (s *Stage) Actions(o *Object, env *Env) ([]Action, error) {
	var all []Action
	deleted := false
	for i := range s.steps {
		step := &s.steps[i]
		if step.event != nil {
			all = append(all, Action{Event: step.event})
		}
		if deleted {
			continue
		}
		if patch, err := step.finalizers.patch(o); err != nil {
			return nil, &Error{s.Name, err}
		} else if patch != nil {
			all = append(all, Action{Patch: patch})
		}
		if step.remove {
			deleted = true
			all = append(all, Action{Delete: true})
			continue
		}
		if step.patch != nil {
			patch, err := step.patch.render(o, env)
			if err != nil {
				return nil, &Error{s.Name, err}
			}
			if patch.Type == "" {
				patch.Type = defaultPatch(s)
			}
			all = append(all, Action{Patch: patch})
		}
		if step.apply != nil {
			patch, err := step.apply.render(o, env)
			if err != nil {
				return nil, &Error{s.Name, err}
			}
			all = append(all, Action{Apply: patch})
		}
	}
	return all, nil
}

// defaultPatch returns the type of patches that name none.
func defaultPatch(s *Stage) types.PatchType {
	if s.Kind.Group == "" && (s.Kind.Kind == "Pod" || s.Kind.Kind == "Node") {
		return types.StrategicMergePatchType
	}
	return types.MergePatchType
}

func (c *compiledPatch) render(o *Object, env *Env) (*Patch, error) {
	data, err := c.body.render(o, env)
	if err != nil {
		return nil, err
	}
	switch {
	case c.root == "":
	case c.kind == types.JSONPatchType:
		var operations jsonpatch.Patch
		if err := json.Unmarshal(data, &operations); err != nil {
			return nil, fmt.Errorf("the template made no JSON patch: %w", err)
		}
		for _, operation := range operations {
			for _, field := range []string{"path", "from"} {
				var path string
				if operation[field] == nil || json.Unmarshal(*operation[field], &path) != nil {
					continue
				}
				moved := json.RawMessage(jsonText("/" + c.root + path))
				operation[field] = &moved
			}
		}
		data, err = json.Marshal(operations)
	default:
		data, err = json.Marshal(map[string]json.RawMessage{c.root: data})
	}
	return &Patch{Type: c.kind, Subresource: c.subresource, Data: data, User: c.user}, err
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patch returns the JSON patch of the object's finalizers; nil if they stay.
func (f *finalizers) patch(o *Object) (*Patch, error) {
	if f == nil {
		return nil, nil
	}
	metadata, _ := o.Content["metadata"].(map[string]any)
	list, _ := metadata["finalizers"].([]any)
	var had, has []string
	for _, v := range list {
		name, _ := v.(string)
		had = append(had, name)
		if !f.Empty && !slices.Contains(f.Remove, finalizer{name}) {
			has = append(has, name)
		}
	}
	for _, added := range f.Add {
		if !slices.Contains(has, added.Value) {
			has = append(has, added.Value)
		}
	}
	if slices.Equal(had, has) {
		return nil, nil
	}
	var operations []operation
	// The tests keep a finalizer that was added since from being removed.
	for i, name := range had {
		operations = append(operations, operation{"test", "/metadata/finalizers/" + strconv.Itoa(i), name})
	}
	switch {
	case len(has) == 0:
		operations = append(operations, operation{Op: "remove", Path: "/metadata/finalizers"})
	default:
		operations = append(operations, operation{"add", "/metadata/finalizers", has})
	}
	data, err := json.Marshal(operations)
	return &Patch{Type: types.JSONPatchType, Data: data}, err
}
