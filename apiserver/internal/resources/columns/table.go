package columns

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Table is the Table form of one kind: its columns, and a function that returns the
// cells of an object at the time now, one per column.
type Table struct {
	Columns []metav1.TableColumnDefinition
	// Cells panics for an object of another kind.
	Cells func(obj runtime.Object, now time.Time) []any
	// CellsOf returns Cells for the objects of a list, if they depend on each other; it may be nil.
	CellsOf func(list []runtime.Object) func(obj runtime.Object, now time.Time) []any
}

type column = metav1.TableColumnDefinition

// table combines columns with the function that fills them for objects of one type.
func table[T runtime.Object](cells func(obj T, now time.Time) []any, columns ...column) Table {
	return Table{
		Columns: columns,
		Cells:   func(obj runtime.Object, now time.Time) []any { return cells(obj.(T), now) },
	}
}

// Default is the Table of kinds without columns of their own: name and age.
func Default() Table {
	return table(func(obj runtime.Object, now time.Time) []any {
		m, ok := obj.(metav1.Object)
		if !ok {
			return []any{"", unknown}
		}
		return []any{m.GetName(), age(m.GetCreationTimestamp(), now)}
	}, nameColumn(), ageColumn())
}

// Plain is the Table of kinds for which upstream has no printer: name and time of creation.
func Plain() Table {
	return table(func(obj runtime.Object, _ time.Time) []any {
		m, ok := obj.(metav1.Object)
		if !ok {
			return []any{"", unknown}
		}
		return []any{m.GetName(), m.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	}, nameColumn(), column{Name: "Created At", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]})
}

func nameColumn() column {
	return column{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
}

func ageColumn() column {
	return text("Age", metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"])
}

func text(name, description string) column {
	return column{Name: name, Type: "string", Description: description}
}

func integer(name, description string) column {
	return column{Name: name, Type: "integer", Description: description}
}

func boolean(name, description string) column {
	return column{Name: name, Type: "boolean", Description: description}
}

// wide makes a column visible only with kubectl get -o wide.
func wide(c column) column {
	c.Priority = 1
	return c
}
