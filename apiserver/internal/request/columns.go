package request

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type cellsFunc = func(obj runtime.Object, now time.Time) []any

// defaultColumns are the columns of a row that defines none, as in upstream's default
// table convertor.
var defaultColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
	{Name: "Created At", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]},
}

func defaultCells(obj runtime.Object, _ time.Time) []any {
	m, err := meta.Accessor(obj)
	if err != nil {
		return []any{"", nil}
	}
	return []any{m.GetName(), m.GetCreationTimestamp().UTC().Format(time.RFC3339)}
}
