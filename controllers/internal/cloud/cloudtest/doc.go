// Package cloudtest keeps a simulated cloud in the world of a model test.
package cloudtest
