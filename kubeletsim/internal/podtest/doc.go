// Package podtest makes the pods that the tests of kubeletsim share.
package podtest
