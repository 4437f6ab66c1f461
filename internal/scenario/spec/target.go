package spec

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// SplitTarget reads KIND/NAME or KIND, with KIND as kubectl takes it: singular,
// plural or short, and with a group after a dot if need be.
func SplitTarget(target string) (kind, name string, err error) {
	kind, name, named := strings.Cut(target, "/")
	switch {
	case target == "":
		return "", "", errors.New("is missing: write KIND/NAME, such as deployment/web")
	case kind == "" || (named && (name == "" || strings.Contains(name, "/"))):
		return "", "", fmt.Errorf("%q is not KIND/NAME (such as deployment/web) or KIND (such as pods)", target)
	}
	return kind, name, nil
}

// Named returns an error unless target is KIND/NAME.
func Named(target string) error {
	_, name, err := SplitTarget(target)
	if err == nil && name == "" {
		err = fmt.Errorf("%q needs a name: %s/NAME", target, target)
	}
	return err
}

// OfKind returns an error unless target is KIND.
func OfKind(target string) error {
	_, name, err := SplitTarget(target)
	if err == nil && name != "" {
		err = fmt.Errorf("is a kind here, not one object: %q", target)
	}
	return err
}

// NamedOrSelected returns an error unless target is KIND/NAME, or KIND with a selector.
func NamedOrSelected(target, selector string) error {
	kind, name, err := SplitTarget(target)
	switch {
	case err != nil:
		return err
	case name != "" && selector != "":
		return fmt.Errorf("names %s, so that selector has no use", target)
	case name == "" && selector == "":
		return fmt.Errorf("%q needs a name (%s/NAME) or a selector", target, kind)
	}
	return nil
}

// LabelSelector returns an error unless selector is a label selector; the empty one is.
func LabelSelector(selector string) error {
	if _, err := labels.Parse(selector); err != nil {
		return fmt.Errorf("%q is not a label selector (such as app=web): %w", selector, err)
	}
	return nil
}

// FieldSelector returns an error unless selector is a field selector; the empty one is.
func FieldSelector(selector string) error {
	if _, err := fields.ParseSelector(selector); err != nil {
		return fmt.Errorf("%q is not a field selector (such as spec.nodeName=node-0): %w", selector, err)
	}
	return nil
}
