// Package connectpeer tests that clients and handlers of Connect work with package httpxds. It is a module of its own, because
// nothing else needs Connect.
package connectpeer
