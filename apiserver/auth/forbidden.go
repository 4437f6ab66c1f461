package auth

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Forbidden is the answer to a request that is not allowed, in upstream's words. An
// empty reason says nothing.
func Forbidden(a Attributes, reason string) error {
	what := fmt.Sprintf("path %q", a.Path)
	if a.Resource {
		resource := a.Plural
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		where := "at the cluster scope"
		if a.Namespace != "" {
			where = fmt.Sprintf("in the namespace %q", a.Namespace)
		}
		what = fmt.Sprintf("resource %q in API group %q %s", resource, a.Group, where)
	}
	// What looks like HTML could become it in somebody's browser.
	message := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(fmt.Sprintf("User %q cannot %s %s", a.User.Name, a.Verb, what))
	if reason != "" {
		message += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Plural}, a.Name, errors.New(message))
}
