package request

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/watchcache"
)

// Page is the result of a list.
type Page struct {
	Meta    metav1.ListMeta
	Objects []runtime.Object
	// Entries are the objects' entries in the watch cache; nil if they are not from there.
	Entries []*watchcache.Entry
}

// Len and At implement codec.Items.
func (p *Page) Len() int              { return len(p.Objects) }
func (p *Page) At(i int) (any, error) { return p.Objects[i], nil }

// Add appends objects.
func (p *Page) Add(objs ...runtime.Object) { p.Objects = append(p.Objects, objs...) }
