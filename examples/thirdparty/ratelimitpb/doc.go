// Package ratelimitpb has the messages of policy.proto.
package ratelimitpb
