/*
 * eigen.h - eigenvectors of small symmetric matrices.
 */
#ifndef CONVERTER_COMPARE_EIGEN_H
#define CONVERTER_COMPARE_EIGEN_H

#include <stddef.h>

/* Diagonalise the symmetric matrix a[n][n], which is destroyed: value[n] in
 * descending order, and the vector of each in a row of vector[n][n]. */
void conv_eigen(double *a, size_t n, double *value, double *vector);

/* The vector of the i-th largest eigenvalue of D - q q', D the diagonal matrix
 * of value[n], which descends, n > i + 1: ret[n], of length 1, on the basis of
 * D. */
void conv_eigen_without(const double *value, const double *q, size_t n,
                        size_t i, double *ret);

#endif
