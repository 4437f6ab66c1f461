// Package guard reconciles the finalizers of one kind of object by the rule of package
// protection. The controllers that protect storage objects in use are built on it.
package guard
